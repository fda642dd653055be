// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "reading-list",
    dependencies: [
        .package(url: "file:///path/to/hornbeam", from: "0.1.0"),
    ],
    targets: [
        .executableTarget(
            name: "ReadingList",
            dependencies: [.product(name: "Hornbeam", package: "hornbeam")]),
    ]
)
