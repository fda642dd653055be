/// The failure of a command; the tool ends with status 1.
struct CommandFailure: Error, Equatable, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
