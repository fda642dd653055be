#if Postgres
internal import HornbeamModel

/// The tables of history: the entries, the range of their numbers, and the consumers. They exist while the store keeps history.
///
/// A save inserts its entry without a number, as its last statement, so that saves do not wait for each other. The entry takes a place from a sequence.
/// Before a read, the function `_hornbeam_number_history` numbers the committed entries in the order of their places, under a lock of the one row
/// of `_hornbeam_history_state`.
///
/// Invariants:
/// - An entry that becomes visible later has a higher number than each visible one: a reader that continues after a number misses no entry and
///   receives none twice.
/// - If a transaction has seen or waited for another one, it has the higher place, because its last statement began after the other's commit. It also
///   becomes visible later. So it has the higher number.
/// - Times do not decrease with the numbers.
struct HistoryTables: Sendable {
    /// The quoted name of the schema.
    let schema: String

    var entries: String { schema + ".\"_hornbeam_history\"" }
    var state: String { schema + ".\"_hornbeam_history_state\"" }
    var consumers: String { schema + ".\"_hornbeam_history_consumers\"" }
    var places: String { schema + ".\"_hornbeam_history_places\"" }
    private var function: String { schema + ".\"_hornbeam_number_history\"" }

    /// Numbers the committed entries.
    var number: Statement { Statement("SELECT \(function)()") }

    /// The statements that make the tables. The first number is the time in microseconds, so that numbers of a history that was removed are lower.
    var creation: [String] {
        [
            "CREATE SEQUENCE \(places)",
            """
            CREATE TABLE \(entries) (place bigint NOT NULL DEFAULT nextval(\(SQLText.literal(places))), number bigint, \
            saved_at timestamptz NOT NULL DEFAULT clock_timestamp(), is_batch boolean NOT NULL, author text, context text, process int NOT NULL, \
            process_name text, changes json NOT NULL)
            """,
            "CREATE INDEX ON \(entries) (place) WHERE number IS NULL",
            "CREATE UNIQUE INDEX ON \(entries) (number) WHERE number IS NOT NULL",
            "CREATE TABLE \(state) (start bigint NOT NULL, last bigint NOT NULL, last_time timestamptz NOT NULL)",
            "INSERT INTO \(state) SELECT n, n, '-infinity' FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS s(n)",
            "CREATE TABLE \(consumers) (name text PRIMARY KEY, number bigint NOT NULL, time timestamptz, read_at timestamptz NOT NULL)",
            definition,
        ]
    }

    var functionRemoval: String { "DROP FUNCTION IF EXISTS \(function)()" }

    var removal: [String] {
        [functionRemoval, "DROP TABLE \(entries), \(state), \(consumers)", "DROP SEQUENCE \(places)"]
    }

    /// Makes the consumers read all data again.
    var expiry: [Statement] {
        [
            number, Statement("SELECT FROM \(state) FOR UPDATE"), Statement("DELETE FROM \(entries)"),
            Statement("UPDATE \(state) SET last = last + 1, start = last + 1"),
        ]
    }

    private var definition: String {
        """
        CREATE FUNCTION \(function)() RETURNS void LANGUAGE plpgsql AS $function$
        DECLARE
            before record;
            added bigint;
        BEGIN
            IF NOT EXISTS (SELECT FROM \(entries) WHERE number IS NULL) THEN RETURN; END IF;
            SELECT last, last_time INTO before FROM \(state) FOR UPDATE;
            UPDATE \(entries) e SET number = before.last + n.n, saved_at = greatest(n.saved_at, before.last_time)
            FROM (SELECT place, row_number() OVER w AS n, max(saved_at) OVER w AS saved_at
                FROM \(entries) WHERE number IS NULL WINDOW w AS (ORDER BY place)) n
            WHERE e.place = n.place AND e.number IS NULL;
            GET DIAGNOSTICS added = ROW_COUNT;
            IF added > 0 THEN
                UPDATE \(state) SET last = before.last + added,
                    last_time = (SELECT saved_at FROM \(entries) WHERE number = before.last + added);
            END IF;
        END $function$
        """
    }

    // MARK: Times

    /// An SQL text of a time as microseconds since 1 January 2001.
    static func microseconds(_ time: String) -> String { "(extract(epoch FROM \(time) - timestamptz '2001-01-01 00:00:00+00') * 1000000)::bigint" }

    /// The time of a parameter with microseconds since 1 January 2001.
    static func time(_ parameter: String) -> String { "timestamptz '2001-01-01 00:00:00+00' + \(parameter)::bigint * interval '1 microsecond'" }
}
#endif
