"""The demo: at a terminal a page to click, without one a played tour. And the same parts for an agent of your own."""
