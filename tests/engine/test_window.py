"""The window tells what its oldest transfer waits for: others' packets, or work of this rank."""

from __future__ import annotations

from coded_mr.engine.window import Need, Steps, Transfer, Window


def needed_by_the_oldest(*waits: type[Need] | None) -> list[bool]:
    """Run transfers that each wait for a `Need` or a plain condition; return `needs_more` at each tick."""
    window = Window()
    done: set[int] = set()
    seen: list[bool] = []

    def transfer(number: int, wait: type[Need] | None) -> Steps[None]:
        def is_done() -> bool:
            return number in done

        yield is_done if wait is None else wait(is_done)

    def tick() -> bool:
        seen.append(window.needs_more)
        done.add(len(done))
        return True

    window.run([Transfer(transfer(number, wait)) for number, wait in enumerate(waits)], tick)
    return seen


def test_only_work_of_this_rank_is_needed():
    assert needed_by_the_oldest(None, Need, None) == [False, True, False, True]


def test_an_empty_window_needs_work():
    assert needed_by_the_oldest(None) == [False, True]
    assert needed_by_the_oldest(Need) == [True, True]
