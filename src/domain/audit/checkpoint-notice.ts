import { parseCheckpoint, parseNote } from '../../lib/transparency/transparency.ts';
import type { Notice } from '../organization/notices.ts';

/** Evidence that an auditor keeps out of the operator's reach: a signed checkpoint and the key that signed it. */
export interface ShownCheckpoint {
  /** Includes cosignatures. */
  readonly note: string;
  /** Key as a vkey. */
  readonly vkey: string;
  /** ISO 8601. */
  readonly signedAt: string;
}

export const checkpointNotice = ({ note, vkey, signedAt }: ShownCheckpoint): Notice => {
  const { origin, size } = parseCheckpoint(parseNote(note).text);
  return {
    subject: `Checkpoint of an audit log: ${size} events on ${signedAt.slice(0, 10)}`,
    text: [
      `The first ${size} events of the audit log ${origin} were signed at ${signedAt}:`,
      '',
      note,
      'Keep this mail, or the attached file. Any later change to these events contradicts it:',
      '',
      '  node outbox-audit-verify.mjs export.jsonl --key <the key you saw first> --since checkpoint.note',
      '',
      'The key that signed it is below. Compare it with the one that you saw first: another one must be explained by the log.',
      '',
      `  ${vkey}`,
      '',
      'You get this mail each day because you are an auditor of this log. The organization that added you can end that.',
    ].join('\n'),
  };
};

/** File name of the attached note. */
export const CHECKPOINT_FILE = 'checkpoint.note';
