"""Charts are drawn from numbers alone."""

from xml.etree import ElementTree as ET

import pytest

from benchmarks.charts import Axis, Band, bars, lines

SVG = "{http://www.w3.org/2000/svg}"


def texts(chart):
    return [element.text for element in ET.fromstring(chart).iter(f"{SVG}text")]


def test_a_line_goes_through_its_points_and_says_what_it_is():
    """Time grows to the right, values grow upwards, and the legend has the name."""
    chart = lines("Asked", "minute", "a minute", {"questions": [(0, 0), (5, 10), (10, 5)]})

    [line] = ET.fromstring(chart).iter(f"{SVG}polyline")
    points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    assert points[0][0] < points[1][0] < points[2][0]
    assert points[1][1] < points[2][1] < points[0][1]
    assert {"Asked", "minute", "a minute", "questions"} <= set(texts(chart))


def test_an_outage_is_a_stretch_with_its_name():
    """It lies behind the lines, within the chart."""
    chart = lines("Cards", "minute", "s", {"median": [(0, 1), (10, 1)]}, bands=[Band(4, 5, "Slack down")])

    assert "Slack down" in texts(chart)


def test_charts_of_one_day_can_have_the_same_ends():
    """Below each other, the same minute is at the same place."""
    early, late = (lines("Day", "minute", "", {"a": [(at, 1)]}, ends=(0, 10)) for at in (2, 8))

    first, second = (
        float(next(ET.fromstring(each).iter(f"{SVG}polyline")).get("points").split(",")[0])
        for each in (early, late)
    )
    assert first < second


def test_lines_differ_without_their_colour():
    """For people who do not tell colours apart, and in print."""
    chart = lines("Cards", "minute", "s", {"median": [(0, 1)], "slowest": [(0, 2)]})

    dashes = [line.get("stroke-dasharray") for line in ET.fromstring(chart).iter(f"{SVG}polyline")]
    assert len(set(dashes)) == 2


def test_each_bar_has_its_name_and_a_height():
    """Names are text, whatever is in them."""
    chart = bars("Agents", "seconds", {"billing-0": 1.0, "<b>&": 4.0})

    heights = [float(bar.get("height")) for bar in ET.fromstring(chart).iter(f"{SVG}rect")][1:]
    assert heights[1] == pytest.approx(4 * heights[0], rel=0.01)
    assert {"billing-0", "<b>&"} <= set(texts(chart))


@pytest.mark.parametrize("points", [[], [(1.0, 0.0)], [(1.0, 3.0), (1.0, 3.0)]])
def test_few_points_are_a_chart_too(points):
    """A day in which nothing or one thing happened."""
    ET.fromstring(lines("Day", "minute", "", {"questions": points}))


def test_a_scale_of_powers_has_its_powers_as_ticks():
    """From a thousand to a million in equal steps."""
    axis = Axis(1_000, 1_000_000, 0, 300, is_log=True)

    assert axis.ticks() == [1_000, 10_000, 100_000, 1_000_000]
    assert [axis(value) for value in axis.ticks()] == [0, 100, 200, 300]


def test_a_linear_scale_has_round_ticks():
    """Nobody reads 13.7."""
    assert Axis(0, 47, 0, 100).ticks() == [0, 10, 20, 30, 40]
