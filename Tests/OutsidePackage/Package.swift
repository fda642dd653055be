// swift-tools-version: 6.2
import PackageDescription

// An app outside of this repository, as its author would write it. `Scripts/test-linking` sets the address of
// a tagged checkout and builds it twice: with and without isolation to the main actor by default.
let address = Context.environment["HORNBEAM_ADDRESS"] ?? "file:///missing"
let isMainActor = Context.environment["HORNBEAM_MAIN_ACTOR"] == "1"

let package = Package(
    name: "Client",
    dependencies: [.package(url: address, exact: "0.1.0")],
    targets: [
        .executableTarget(
            name: "Client",
            dependencies: [.product(name: "Hornbeam", package: "hornbeam")],
            swiftSettings: isMainActor ? [.defaultIsolation(MainActor.self)] : [])
    ]
)
