// swift-tools-version: 6.2
import PackageDescription

// Apps outside of this repository, as their authors would write them. `Scripts/test-linking` sets the address of a tagged checkout and
// copies `Client` to `MainActorClient`, which is built with isolation to the main actor by default.
let address = Context.environment["HORNBEAM_ADDRESS"] ?? "file:///missing"
let hornbeam: Target.Dependency = .product(name: "Hornbeam", package: "hornbeam")

let package = Package(
    name: "Client",
    dependencies: [.package(url: address, exact: "0.1.0")],
    targets: [
        .executableTarget(name: "Client", dependencies: [hornbeam]),
        .executableTarget(name: "MainActorClient", dependencies: [hornbeam], swiftSettings: [.defaultIsolation(MainActor.self)]),
        .executableTarget(
            name: "ModelClient", dependencies: [hornbeam], exclude: ["Shop.xcdatamodeld"],
            plugins: [.plugin(name: "HornbeamModelPlugin", package: "hornbeam")]),
    ]
)
