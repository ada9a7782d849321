import { readFileSync } from 'node:fs';

/** Licences of the service's runtime dependencies, from `package-lock.json`. */

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
}

/** Licences that are stated only in a file of the package. */
const BY_FILE: Readonly<Record<string, string>> = { 'png-js': 'MIT' };

const FOLDER = 'node_modules/';

/** Package names with versions, by licence. Both are sorted. */
export const licences = (): ReadonlyMap<string, readonly string[]> => {
  const lock = readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8');
  const { packages } = JSON.parse(lock) as { readonly packages: Readonly<Record<string, LockedPackage>> };
  const found = new Map<string, Set<string>>();
  for (const [path, { version, license, dev, link }] of Object.entries(packages)) {
    if (!path.startsWith(FOLDER) || dev === true || link === true) continue;
    const name = path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
    const licence = license ?? BY_FILE[name] ?? 'unknown';
    found.set(licence, (found.get(licence) ?? new Set()).add(`${name} ${version}`));
  }
  const inOrder = [...found].sort(([one], [other]) => (one < other ? -1 : 1));
  return new Map(inOrder.map(([licence, names]) => [licence, [...names].sort()]));
};

export const licencesDocument = (): string => {
  const all = licences();
  const rows = [...all].map(([licence, names]) => `| ${licence} | ${names.length} | ${names.join(', ')} |`);
  return `# Licences

<!-- Written by test/architecture/generated-documents.test.ts --update. -->

What \`npm ci --omit=dev\` installs, on any platform. \`npm run sbom\` prints the same as CycloneDX, with digests.

| licence | packages | which |
|---|---|---|
${rows.join('\n')}
`;
};
