import type { SerializedListedMessage } from '../../http/schemas/message.ts';

/** Exports rows of the message list as CSV (RFC 4180). */

/** Leading characters that make a spreadsheet evaluate the cell. */
const FORMULA = /^[=+\-@\t\r']/;

const cell = (text: string): string => {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const COLUMNS = [
  'id',
  'created_at',
  'status',
  'from',
  'to',
  'subject',
  'tags',
  'api_key_id',
  'domain_id',
  'message_id',
];

const cellsOf = (message: SerializedListedMessage): readonly string[] => [
  message.id,
  message.created_at,
  message.status,
  message.from ?? '',
  message.recipients.map(({ address }) => address ?? '').join(' '),
  message.subject ?? '',
  message.tags.map(({ name, value }) => `${name}:${value}`).join(' '),
  message.api_key_id,
  message.domain_id,
  message.message_id,
];

export const messagesCsv = (messages: readonly SerializedListedMessage[]): Blob => {
  const lines = [COLUMNS, ...messages.map(cellsOf)].map((cells) => `${cells.map(cell).join(',')}\r\n`);
  return new Blob(lines, { type: 'text/csv' });
};
