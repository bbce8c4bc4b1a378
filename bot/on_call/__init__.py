"""Who is on call: PagerDuty, and any calendar with an iCalendar address."""
