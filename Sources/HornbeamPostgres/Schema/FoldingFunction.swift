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

    /// Creates the functions that the schema does not have.
    static func create(in schema: String, _ connection: Connection) throws {
        let names = allCases.map { "to_regprocedure(\(SQLText.literal($0.name(in: schema) + "(text)"))) IS NULL" }
        let found = try connection.execute(Statement("SELECT \(names.joined(separator: ", "))"))
        for (place, function) in allCases.enumerated() where found[0, place] == "t" {
            try connection.execute(Statement(function.definition(in: schema)))
        }
    }

    /// Texts of ASCII need no map. For others the map has each character that changes.
    private func definition(in schema: String) -> String {
        let foldings = Folding.foldings(caseInsensitive: foldsCase, diacriticInsensitive: self != .c)
        let map = foldings.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\"\($0.value)\"" }.joined(separator: ",")
        return """
            CREATE FUNCTION \(name(in: schema))(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $function$
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
