// Bundles the commands for customers into `dist`: they need no server, no database and no other package.
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Modules only define things, so the bundle leaves out unused imports, such as `undici`. */
const withoutSideEffects = {
  name: 'without-side-effects',
  setup: ({ onResolve, resolve }) => {
    onResolve({ filter: /.*/ }, async ({ path, pluginData, ...place }) => {
      if (pluginData === 'resolved' || place.kind === 'entry-point') return undefined;
      const { importer, resolveDir, kind } = place;
      const found = await resolve(path, { importer, resolveDir, kind, pluginData: 'resolved' });
      return { ...found, sideEffects: false };
    });
  },
};

await rm(pathOf('dist'), { recursive: true, force: true });
await build({
  entryPoints: { outbox: pathOf('../src/cli/customer/main.ts') },
  // Modules read the version from `../../package.json`, here and in `src/cli`.
  outdir: pathOf('dist/bin'),
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  minify: true,
  // Errors are recognized by the names of their classes.
  keepNames: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // Dependencies that are CommonJS modules call `require` for modules of Node.
  banner: { js: "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);" },
  // The SDK renders React only in programs that have it.
  external: ['react-dom/server'],
  legalComments: 'linked',
  logLevel: 'warning',
  plugins: [withoutSideEffects],
});
