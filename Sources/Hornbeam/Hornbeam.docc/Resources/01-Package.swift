// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "reading-list",
    dependencies: [
        .package(name: "hornbeam", path: "../hornbeam"),
    ],
    targets: [
        .executableTarget(
            name: "ReadingList",
            dependencies: [.product(name: "Hornbeam", package: "hornbeam")]),
    ]
)
