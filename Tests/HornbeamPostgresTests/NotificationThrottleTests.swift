#if Postgres
import Testing

@testable import HornbeamPostgres

/// Throttled notifications of a process that saves without a pause.
@Suite struct NotificationThrottleTests {
    @Test func eachSaveNotifiesWithoutAListener() {
        let throttle = NotificationThrottle()
        for _ in 0 ..< 3 { #expect(throttle.begin()) }
    }

    @Test func savesAfterANotificationAreAnnouncedByTheListener() {
        let throttle = NotificationThrottle()
        throttle.setListening(true)
        #expect(throttle.begin())
        for _ in 0 ..< 3 {
            #expect(!throttle.begin())
            #expect(!throttle.committed())
        }
        #expect(throttle.react(), "three saves were committed since the notification")
        #expect(!throttle.begin())
        #expect(!throttle.committed())
        #expect(throttle.react())
        #expect(!throttle.react(), "no save was committed since the notification")
        #expect(throttle.begin(), "the first save after a pause notifies")
    }

    @Test func aSaveNotifiesIfTheListenerHasReactedBeforeItsCommit() {
        let throttle = NotificationThrottle()
        throttle.setListening(true)
        #expect(throttle.begin())
        #expect(!throttle.begin())
        #expect(!throttle.react())
        #expect(throttle.committed())
        #expect(!throttle.begin())
    }

    @Test func afterAFailedSaveTheNextOneNotifies() {
        let throttle = NotificationThrottle()
        throttle.setListening(true)
        #expect(throttle.begin())
        throttle.withdraw()
        #expect(throttle.begin())
    }
}
#endif
