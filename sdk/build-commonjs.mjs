// Bundles `dist` for `require`, which cannot load ES modules before Node 20.19, with the same types.
import { cp, readdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));
const from = pathOf('dist');
const to = pathOf('dist/commonjs');

await build({
  entryPoints: [pathOf('dist/index.js')],
  outfile: `${to}/index.js`,
  bundle: true,
  platform: 'neutral',
  format: 'cjs',
  target: 'es2022',
  external: ['react-dom/server'],
  logLevel: 'warning',
});
const types = (await readdir(from)).filter((name) => name === 'api' || name.endsWith('.d.ts'));
for (const name of types)
  await cp(`${from}/${name}`, `${to}/${name}`, { recursive: true, filter: (path) => !path.endsWith('.js') });
await writeFile(`${to}/package.json`, '{ "type": "commonjs" }\n');
