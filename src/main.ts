import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Compiling all modules takes half of a start; where the folder cannot be written, nothing is kept and nothing is lost.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)));

const { runService } = await import('./composition/run-service.ts');
await runService();
