"""Arrays on the device and launches. Importing this loads the extension, not NumPy."""
