import Foundation
import Hornbeam

// The build plug-in makes `Customer`, `Order` and `ShopModel` of `Shop.xcdatamodeld`.

@main struct ModelClient {
    @MainActor static func main() throws {
        // snippet
        let shop = try PersistentContainer.inMemory(model: ShopModel.managedObjectModel(), classes: ShopModel.classes)
        let total = try shop.write { context in
            let customer = Customer(context: context)
            customer.name = "Ada"
            let order = Order(context: context)
            order.number = 1
            order.total = 12.5
            customer.orders.insert(order)
            return customer.orders.count
        }
        let orders = try shop.viewContext.fetch(Order.fetchRequest().where { $0.customer.name == "Ada" })
        // end
        guard total == 1, orders.count == 1, orders[0].total == 12.5 else { fatalError("The order did not come back.") }
        try shop.close()
        print("an Xcode model became classes at build time")
    }
}
