#if Postgres
internal import HornbeamModel

/// A function of the schema that folds texts as `[c]`, `[d]` and `[cd]` do, with the same frozen tables.
///
/// The name has the version of the tables. An index over the function serves comparisons with the same options.
enum FoldingFunction: String, CaseIterable {
    case c, d, cd

    /// Nil if the options leave texts as they are.
    init?(_ options: FetchPredicate.Options) {
        if options.contains(.normalized) { return nil }
        switch (options.contains(.caseInsensitive), options.contains(.diacriticInsensitive)) {
        case (true, true): self = .cd
        case (true, false): self = .c
        case (false, true): self = .d
        case (false, false): return nil
        }
    }

    private var foldsCase: Bool { self != .d }

    private var own: String { "_hornbeam_fold\(Folding.version)_\(rawValue)" }

    func name(in schema: String) -> String { "\(schema).\"\(own)\"" }

    /// Returns for each function whether the schema lacks it.
    static func search(in schema: String) -> Statement {
        let names = allCases.map { "to_regprocedure(\(SQLText.literal($0.name(in: schema) + "(text)"))) IS NULL" }
        return Statement("SELECT \(names.joined(separator: ", "))")
    }

    /// The statements that create the functions that a search has not found.
    static func creation(in schema: String, after found: QueryResult) -> [Statement] {
        allCases.enumerated().filter { found[0, $0.offset] == "t" }.map { Statement($0.element.definition(in: schema)) }
    }

    private func definition(in schema: String) -> String {
        "CREATE FUNCTION \(name(in: schema))(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS \(Self.bodies[self] ?? "")"
    }

    /// Made once in a process, because they contain the folding tables.
    private static let bodies = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.body) })

    /// Texts of ASCII need no map. For others the map has each character that changes.
    private var body: String {
        let foldings = Folding.foldings(caseInsensitive: foldsCase, diacriticInsensitive: self != .c)
        let map = foldings.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\"\($0.value)\"" }.joined(separator: ",")
        return """
            $function$
            DECLARE
                result text := '';
                letter text;
            BEGIN
                IF octet_length(value) = length(value) THEN RETURN \(foldsCase ? "lower(value COLLATE \"C\")" : "value"); END IF;
                FOREACH letter IN ARRAY string_to_array(value, NULL) LOOP
                    result := result || coalesce('{\(map)}'::jsonb ->> letter, letter);
                END LOOP;
                RETURN result;
            END $function$
            """
    }
}
#endif
