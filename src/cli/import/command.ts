import { VENDORS, type Vendor } from '../../http/compat/vendors.ts';
import { type Invocation, optional, type Result, required, type ServiceCommand } from '../command.ts';
import { ServiceRefused } from '../customer/answers.ts';
import { CommandFailed, EXIT, UsageError } from '../failures.ts';
import { readPostmark } from './postmark-records.ts';
import { readRecords } from './read-records.ts';
import { readResend } from './resend-records.ts';
import { type ImportOptions, SENDGRID_LISTS } from './rows.ts';
import { readSendgrid } from './sendgrid-records.ts';
import { type Counts, createImport, createTally, sentence, type Tally } from './take-rows.ts';

/**
 * Imports suppressions, templates and domains from another service's export, through the API of a running service.
 * Records are independent and existing ones stay unchanged, so an import can be repeated to complete an interrupted
 * one.
 */

const READERS = { resend: readResend, postmark: readPostmark, sendgrid: readSendgrid };

const oneOf = <Name extends string>(
  invocation: Invocation,
  option: string,
  names: readonly Name[],
): Name | undefined => {
  const given = optional(invocation, option);
  const found = names.find((name) => name === given);
  if (given !== undefined && found === undefined)
    throw new UsageError(`--${option} must be one of ${names.join(', ')}`);
  return found;
};

const vendorIn = ({ positionals }: Invocation): Vendor => {
  const [name, more] = positionals;
  const vendor = VENDORS.find((one) => one === name);
  if (vendor === undefined || more !== undefined) throw new UsageError(`name one of ${VENDORS.join(', ')}`);
  return vendor;
};

const optionsOf = (invocation: Invocation): ImportOptions => ({
  scope: oneOf(invocation, 'scope', ['all', 'transactional', 'bulk']) ?? 'all',
  list: oneOf(invocation, 'list', SENDGRID_LISTS),
});

const isOver = ({ problems }: { readonly problems?: unknown }): boolean =>
  Array.isArray(problems) && problems.length > 0;

const countsText = (counts: unknown): string => {
  const { added, unchanged, skipped } = counts as Counts; // created above
  return `${added} added, ${unchanged} unchanged, ${skipped} skipped`;
};

const textOf = (result: Result): string => {
  const made = result as ReturnType<Tally['result']>; // this command's own result
  return [
    `${made.records} ${made.records === 1 ? 'record' : 'records'}${made.dry_run ? ', and nothing was changed: a dry run takes everything for new' : ''}`,
    ...(['suppressions', 'templates', 'domains'] as const).map((what) => `${what}: ${countsText(made[what])}`),
    ...(made.skipped_otherwise === 0 ? [] : [`others: ${made.skipped_otherwise} skipped`]),
    ...made.problems.map(({ record, line, reason }) => `  record ${record}, line ${line}: ${reason}`),
    ...(made.problems_not_told === 0 ? [] : [`  and ${made.problems_not_told} more`]),
  ].join('\n');
};

export const importCommand: ServiceCommand = {
  name: 'import',
  usage:
    'resend|postmark|sendgrid --file EXPORT [--list bounces|spam_reports|unsubscribes|invalid_emails|blocks] [--scope all|transactional|bulk] [--dry-run]',
  summary: 'takes suppressions, templates and domains of an export over',
  needs: 'service',
  exitCode: (result) => (isOver(result as object) ? EXIT.different : 0),
  textOf,
  run: async (service, invocation, terminal) => {
    const vendor = vendorIn(invocation);
    const file = required(invocation, 'file');
    const options = optionsOf(invocation);
    const isDry = invocation.values['dry-run'] === true;
    const work = { tally: createTally(), service: isDry ? null : service };
    const progress = terminal.progress('import');
    const importing = createImport(work);
    let read = 0;
    try {
      for await (const record of readRecords(file)) {
        const place = { record: read + 1, line: record.line };
        await importing.take(place, READERS[vendor](record.fields, options));
        read += 1;
        progress.at(read, undefined, 'records');
      }
      await importing.flush();
    } catch (error) {
      if (!(error instanceof ServiceRefused)) throw error;
      throw new CommandFailed(`after ${read} records: ${sentence(error)}. Import the file again: what is there stays`);
    } finally {
      progress.end();
    }
    return work.tally.result(read, isDry);
  },
};
