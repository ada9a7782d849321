import type { Result, ServiceCommand } from '../command.ts';
import { EXIT } from '../terminal.ts';
import type { Counts, Tally } from './take-rows.ts';

const isOver = ({ problems }: { readonly problems?: unknown }): boolean =>
  Array.isArray(problems) && problems.length > 0;

const countsText = (counts: unknown): string => {
  const { added, unchanged, skipped } = counts as Counts; // created above
  return `${added} added, ${unchanged} unchanged, ${skipped} skipped`;
};

const textOf = (result: Result): string => {
  const made = result as ReturnType<Tally['result']>; // this command's own result
  return [
    `${made.records} ${made.records === 1 ? 'record' : 'records'}${made.dry_run ? '. Dry run: nothing was changed, and every record is reported as new' : ''}`,
    ...(['suppressions', 'templates', 'domains'] as const).map((what) => `${what}: ${countsText(made[what])}`),
    ...(made.skipped_otherwise === 0 ? [] : [`others: ${made.skipped_otherwise} skipped`]),
    ...made.problems.map(({ record, line, reason }) => `  record ${record}, line ${line}: ${reason}`),
    ...(made.problems_not_told === 0 ? [] : [`  and ${made.problems_not_told} more`]),
  ].join('\n');
};

export const importCommand: ServiceCommand = {
  name: 'import',
  usage:
    'resend|postmark|sendgrid|mailgun --file EXPORT [--list bounces|spam_reports|complaints|unsubscribes|invalid_emails|blocks] [--scope all|transactional|bulk] [--dry-run]',
  summary: 'imports suppressions, templates and domains from an export of another service',
  needs: 'service',
  exitCode: (result) => (isOver(result as object) ? EXIT.different : 0),
  textOf,
  // Its readers take longer to load than most commands run.
  run: async (...given) => (await import('./run-import.ts')).runImport(...given),
};
