import Foundation
import Hornbeam

// The command plug-in writes `Customer`, `Order` and `ShopModel` into this folder, as classes with `@Entity`.

@main struct GeneratedClient {
    static func main() throws {
        let shop = try PersistentContainer.inMemory(for: Customer.self, Order.self)
        let orders = try shop.write { context in
            let customer = Customer(context: context)
            customer.name = "Ada"
            let order = Order(context: context)
            order.number = 1
            order.customer = customer
            return try context.count(Order.self) { $0.customer.name == "Ada" }
        }
        guard orders == 1 else { fatalError("The order did not come back.") }
        try shop.close()
        print("a model became classes with @Entity")
    }
}
