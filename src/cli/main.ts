import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Compiling its modules takes half of a command's time. If the folder is not writable, nothing is cached.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url)));

await import('./run.ts');
