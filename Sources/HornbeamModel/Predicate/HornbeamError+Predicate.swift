extension HornbeamError.Code {
    /// A predicate format that does not parse; the message marks the position with a caret.
    public static let predicateSyntax = Self(rawValue: 9_201)
    /// A predicate that does not fit the model: an unknown key, a wrong type, an impossible operator.
    public static let predicateInvalid = Self(rawValue: 9_202)
    /// A predicate that cannot be evaluated: a variable without a value, ALL over a single value.
    public static let predicateEvaluation = Self(rawValue: 9_203)
}
