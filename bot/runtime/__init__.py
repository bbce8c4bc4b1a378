"""What any process needs: settings, logs, metrics, health, tasks."""
