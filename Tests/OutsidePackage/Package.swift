// swift-tools-version: 6.2
import PackageDescription

// Apps outside of this repository, as their authors would write them. `Scripts/test-linking` sets the address of a tagged checkout and
// copies `Client` to `MainActorClient`, which is built with isolation to the main actor by default, lets the command plug-in write the
// classes of `GeneratedClient`, and copies the code of the tutorial's steps to `ReadingList2` to `ReadingList5`.
let address = Context.environment["HORNBEAM_ADDRESS"] ?? "file:///missing"
let hornbeam: Target.Dependency = .product(name: "Hornbeam", package: "hornbeam")

let package = Package(
    name: "Client",
    dependencies: [.package(url: address, exact: "0.1.0")],
    targets: [
        .executableTarget(name: "Client", dependencies: [hornbeam]),
        .executableTarget(name: "MainActorClient", dependencies: [hornbeam], swiftSettings: [.defaultIsolation(MainActor.self)]),
        // snippet
        .executableTarget(
            name: "ModelClient", dependencies: [hornbeam], exclude: ["Shop.xcdatamodeld"],
            plugins: [.plugin(name: "HornbeamModelPlugin", package: "hornbeam")]),
        // end
        .executableTarget(name: "GeneratedClient", dependencies: [hornbeam]),
        .executableTarget(name: "ReadingList2", dependencies: [hornbeam]),
        .executableTarget(name: "ReadingList3", dependencies: [hornbeam]),
        .executableTarget(name: "ReadingList4", dependencies: [hornbeam]),
        .executableTarget(name: "ReadingList5", dependencies: [hornbeam]),
    ]
)
