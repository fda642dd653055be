/// A validation rule whose predicate has been parsed (ATT-8).
struct ParsedRule: Sendable {
    let rule: ValidationRule
    let predicate: FetchPredicate

    /// - Throws: `HornbeamError` with code `predicateSyntax`.
    init(_ rule: ValidationRule) throws {
        self.rule = rule
        predicate = try FetchPredicate(format: rule.predicate)
    }
}
