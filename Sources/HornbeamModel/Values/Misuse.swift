/// Ends the process after a mistake in the program, with a sentence on standard error.
///
/// For mistakes that a program which uses the library can make. The sentence is printed in release builds too, which leave the one of
/// `preconditionFailure` out.
package func misuse(_ sentence: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
    fatalError(sentence, file: file, line: line)
}

/// Ends the process with a sentence where a condition does not hold; as `misuse`.
@inline(__always)
package func require(
    _ condition: Bool, _ sentence: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    if !condition { misuse(sentence(), file: file, line: line) }
}
