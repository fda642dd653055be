/// Ends the process after a programmer error, with a sentence on standard error.
///
/// For errors of programs that use the library. Unlike `preconditionFailure`, it also prints the sentence in
/// release builds.
package func misuse(_ sentence: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
    fatalError(sentence, file: file, line: line)
}

/// Ends the process with a sentence when a condition is false; like `misuse`.
@inline(__always)
package func require(
    _ condition: Bool, _ sentence: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    if !condition { misuse(sentence(), file: file, line: line) }
}
