#if Rivals
/// SQLite with an index on the employees' department.
final class SQLiteStaff: StaffContestant {
    static let contestant = Contestant.sqlite

    private let connection: SQLiteConnection
    private var departments = 0

    init(path: String) throws {
        connection = try SQLiteConnection(path: path)
        try connection.run(
            """
            CREATE TABLE department (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE employee (id INTEGER PRIMARY KEY, name TEXT, salary INTEGER, department INTEGER);
            CREATE INDEX staff ON employee (department)
            """)
    }

    func load(departments: Int, staff: Int) throws {
        self.departments = departments
        let department = try connection.prepare("INSERT INTO department VALUES (?, ?)")
        let employee = try connection.prepare("INSERT INTO employee VALUES (?, ?, ?, ?)")
        try connection.transaction {
            for number in 0..<departments {
                department.bind(1, number)
                department.bind(2, copying: "Department \(number)")
                try department.run()
            }
            for number in 0..<(departments * staff) {
                employee.bind(1, number)
                employee.bind(2, copying: "Employee \(number)")
                employee.bind(3, StaffSuite.salary(number))
                employee.bind(4, number % departments)
                try employee.run()
            }
        }
    }

    func walk() throws -> UInt64 { try each("SELECT salary FROM employee WHERE department = ?") }
    func sums() throws -> UInt64 { try each("SELECT sum(salary) FROM employee WHERE department = ?") }

    /// The sum of the results of a query about each department.
    private func each(_ query: String) throws -> UInt64 {
        let outer = try connection.prepare("SELECT id FROM department")
        let inner = try connection.prepare(query)
        return try connection.reading {
            var sum: UInt64 = 0
            while try outer.step() {
                inner.bind(1, outer.int(0))
                while try inner.step() { sum &+= UInt64(inner.int(0)) }
                inner.reset()
            }
            return sum
        }
    }

    func groups() throws -> UInt64 {
        let select = try connection.prepare("SELECT department, sum(salary) FROM employee GROUP BY department")
        return try connection.reading {
            var sum: UInt64 = 0
            while try select.step() { sum &+= UInt64(select.int(1)) }
            return sum
        }
    }

    func close() throws { connection.close() }
}
#endif
