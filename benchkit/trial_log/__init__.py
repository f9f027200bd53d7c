"""The trial log: its lines, its reader, its writer. It knows files through disk/ and nothing of tasks or servers."""
