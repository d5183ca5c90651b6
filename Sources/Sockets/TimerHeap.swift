internal import NIOCore

/// A timer of an event loop.
final class LoopTimer {
    let deadline: NIODeadline
    /// The index in the heap; -1 if the timer is not in the heap.
    fileprivate var place = -1
    /// The order of insertion, in which timers with the same deadline are due.
    fileprivate var number: UInt64 = 0
    /// Whether the timer is cancelled: it does not run even if it is already due or still in transit to the loop.
    var isCancelled = false
    /// Called once, on the loop, unless the timer is cancelled first.
    let end: (End) -> Void

    enum End { case due, stopped }

    init(_ deadline: NIODeadline, end: @escaping (End) -> Void) {
        self.deadline = deadline
        self.end = end
    }

    fileprivate func isBefore(_ other: LoopTimer) -> Bool {
        deadline == other.deadline ? number < other.number : deadline < other.deadline
    }
}

/// The timers of a loop: a binary heap in which each timer knows its index, so that a cancelled timer can be removed.
struct TimerHeap {
    private var timers: [LoopTimer] = []
    private var made: UInt64 = 0

    var first: LoopTimer? { timers.first }

    mutating func insert(_ timer: LoopTimer) {
        made += 1
        timer.number = made
        timer.place = timers.count
        timers.append(timer)
        rise(timer.place)
    }

    /// Removes a timer. Does nothing if the timer is not in the heap.
    mutating func remove(_ timer: LoopTimer) {
        let place = timer.place
        guard place >= 0 else { return }
        timer.place = -1
        let last = timers.removeLast()
        guard last !== timer else { return }
        timers[place] = last
        last.place = place
        rise(place)
        sink(last.place)
    }

    private mutating func rise(_ start: Int) {
        var place = start
        while place > 0 {
            let parent = (place - 1) / 2
            guard timers[place].isBefore(timers[parent]) else { return }
            exchange(place, parent)
            place = parent
        }
    }

    private mutating func sink(_ start: Int) {
        var place = start
        while true {
            var least = 2 * place + 1
            guard least < timers.count else { return }
            if least + 1 < timers.count, timers[least + 1].isBefore(timers[least]) { least += 1 }
            guard timers[least].isBefore(timers[place]) else { return }
            exchange(place, least)
            place = least
        }
    }

    private mutating func exchange(_ one: Int, _ other: Int) {
        timers.swapAt(one, other)
        timers[one].place = one
        timers[other].place = other
    }
}
