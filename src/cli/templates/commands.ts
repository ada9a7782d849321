import type { Difference } from '../../domain/template/differences.ts';
import type { Result, ServiceCommand } from '../command.ts';
import { EXIT } from '../terminal.ts';
import type { Row } from './run-templates.ts';

const CODES: Readonly<Record<string, number>> = {
  refused: EXIT.failed,
  conflict: EXIT.conflict,
  differs: EXIT.different,
  'only here': EXIT.different,
  'only on the service': EXIT.different,
  'to create': EXIT.different,
  'to change': EXIT.different,
  'to publish': EXIT.different,
  'to write': EXIT.different,
};

/** Reports the most urgent result: errors, then conflicts, then differences. */
const exitCode = (result: Result): number => {
  const codes = Array.isArray(result) ? result.map((row) => CODES[String(row.result)] ?? 0) : [];
  return [EXIT.failed, EXIT.conflict, EXIT.different].find((code) => codes.includes(code)) ?? 0;
};

const SIGNS = { same: ' ', removed: '-', added: '+' } as const;

const displayText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/** null if this side lacks the field. */
const side = (kind: 'removed' | 'added', value: unknown) =>
  value === null
    ? []
    : displayText(value)
        .split('\n')
        .map((text) => ({ kind, text }));

const changeLines = ({ field, from, to, lines }: Difference): readonly string[] => [
  `  ${field}`,
  ...(lines ?? [...side('removed', from), ...side('added', to)]).map(({ kind, text }) => `  ${SIGNS[kind]} ${text}`),
];

const rowText = ({ template, result, version, details = [], changes = [] }: Row): string =>
  [
    `${template}: ${result}${version === undefined ? '' : ` as version ${version}`}`,
    ...details.map((detail) => `  ${detail}`),
    ...changes.flatMap(changeLines),
  ].join('\n');

const textOf = (result: Result): string =>
  (result as unknown as readonly Row[]).map(rowText).join('\n') || 'no differences';

/** Reading and writing the files takes longer to load than most commands run. */
const run = () => import('./run-templates.ts');

const described = { needs: 'service', exitCode, textOf } as const;

export const pullTemplatesCommand: ServiceCommand = {
  ...described,
  name: 'templates pull',
  usage: 'FOLDER [--dry-run] [--overwrite]',
  summary: "writes the service's templates to files",
  run: async (...given) => (await run()).runPull(...given),
};

export const pushTemplatesCommand: ServiceCommand = {
  ...described,
  name: 'templates push',
  usage: 'FOLDER [--publish] [--dry-run] [--overwrite]',
  summary: 'uploads files as template drafts; --publish also publishes them',
  run: async (...given) => (await run()).runPush(...given),
};

export const diffTemplatesCommand: ServiceCommand = {
  ...described,
  name: 'templates diff',
  usage: 'FOLDER',
  summary: 'shows what a push would change on the service',
  run: async (...given) => (await run()).runDiff(...given),
};
