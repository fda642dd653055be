#if Postgres
import Testing

@testable import HornbeamPostgres

/// Notifications of a process that saves without a pause.
@Suite struct NotificationPacingTests {
    @Test func eachSaveNotifiesWithoutAListener() {
        let pacing = NotificationPacing()
        for _ in 0 ..< 3 { #expect(pacing.begin()) }
    }

    @Test func savesAfterANotificationAreAnnouncedByTheListener() {
        let pacing = NotificationPacing()
        pacing.setListening(true)
        #expect(pacing.begin())
        for _ in 0 ..< 3 {
            #expect(!pacing.begin())
            #expect(!pacing.committed())
        }
        #expect(pacing.react(), "three saves were committed since the notification")
        #expect(!pacing.begin())
        #expect(!pacing.committed())
        #expect(pacing.react())
        #expect(!pacing.react(), "no save was committed since the notification")
        #expect(pacing.begin(), "the first save after a pause notifies")
    }

    @Test func aSaveNotifiesIfTheListenerHasReactedBeforeItsCommit() {
        let pacing = NotificationPacing()
        pacing.setListening(true)
        #expect(pacing.begin())
        #expect(!pacing.begin())
        #expect(!pacing.react())
        #expect(pacing.committed())
        #expect(!pacing.begin())
    }

    @Test func afterAFailedSaveTheNextOneNotifies() {
        let pacing = NotificationPacing()
        pacing.setListening(true)
        #expect(pacing.begin())
        pacing.withdraw()
        #expect(pacing.begin())
    }
}
#endif
