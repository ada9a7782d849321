import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { accessSentence } from '../../../domain/audit/report/access-rows.ts';
import { atTime } from '../../../domain/audit/report/words.ts';
import { escapeHtml } from '../../../lib/html/html.ts';
import { timeSchema } from '../../fields.ts';
import { lacksLetters, printable } from '../invoice-pdf.ts';

/**
 * The history of one key or message, for readers who do not know this service: a sentence for each event, its actor, and
 * the proof that it is in the log. `report-html`, `report-pdf` and `reportRows` show the same.
 */

const leafSchema = {
  leaf_index: z.number().int().nullable().describe('Index in the audit log; null: not in it yet.'),
  proof: z
    .strictObject({
      leaf: z.string().describe('The hashed data: a line of canonical JSON (RFC 8785).'),
      hashes: z.array(z.string()).describe('Proof of inclusion (RFC 9162 §2.1.3) in `checkpoint`, in base64.'),
    })
    .nullable()
    .describe('null: no checkpoint covers it yet.'),
};

export const reportSchema = z
  .strictObject({
    object: z.literal('audit_report'),
    type: z.enum(['api_key', 'message', 'access_review']),
    id: z.string(),
    title: z.string(),
    made_at: timeSchema(),
    as_of: timeSchema().nullable().describe('For an access review: the time at which access was as stated.'),
    facts: z.array(z.strictObject({ name: z.string(), value: z.string() })),
    access: z
      .array(
        z.strictObject({
          kind: z.enum(['member', 'api_key', 'auditor']),
          id: z.string(),
          name: z.string().nullable().describe('null: the name was removed.'),
          role: z.string().nullable().describe('Role of a member.'),
          permissions: z.array(z.string()),
          scope: z.string(),
          state: z.enum(['active', 'ended']),
          granted_at: timeSchema(),
          granted_by: z.string(),
          changed_at: timeSchema().nullable().describe('Last change of role, permissions, networks or expiry.'),
          changed_by: z.string().nullable(),
          expires_at: timeSchema().nullable(),
          ended_at: timeSchema().nullable(),
          ended_by: z.string().nullable().describe('null: it has not ended, or it expired.'),
        }),
      )
      .describe('Only in an access review: who has or had access, the active ones first.'),
    sends: z
      .array(
        z.strictObject({
          secret: z.number().int().describe('Number of the secret among those of the key, from 1.'),
          last4: z.string(),
          messages: z.number().int().describe('Messages accepted with it.'),
          recipients: z.number().int().describe('Recipients of those messages.'),
          first_at: timeSchema().nullable(),
          last_at: timeSchema().nullable(),
        }),
      )
      .describe(
        'For a key: messages sent so far with each of its last 100 secrets, newest first. The service counts them; the proofs do not cover the counts.',
      ),
    left_out: z.string().nullable().describe('Events that are omitted, and where to find them; null: none.'),
    events: z
      .array(
        z.strictObject({
          at: timeSchema(),
          sentence: z.string(),
          by: z.string(),
          address: z
            .string()
            .nullable()
            .describe('IP address of the request; null: there was no request, or its address is no longer stored.'),
          request_id: z.string().nullable(),
          type: z.string(),
          event_id: z.string(),
          ...leafSchema,
        }),
      )
      .describe('Oldest first.'),
    names: z
      .array(z.strictObject({ id: z.string(), name: z.string() }))
      .describe(
        'Words of the sentences that are not in the log, by id: names of people, and addresses, replies and links of a message while they ' +
          'are stored. Nothing proves them.',
      ),
    evidence: z
      .array(z.strictObject({ event_id: z.string(), ...leafSchema }))
      .nullable()
      .describe(
        'Further leaves that the report is derived from, so that a program can derive it again; null: too many.',
      ),
    checkpoint: z
      .strictObject({
        size: z.number().int(),
        note: z.string().describe('The signed note that the proofs refer to.'),
        verifier_key: z.string(),
        signed_at: timeSchema(),
      })
      .nullable()
      .describe('null: not signed yet.'),
  })
  .meta({ id: 'AuditReport' });

export type Report = z.infer<typeof reportSchema>;

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Describes the messages sent with a secret in a sentence. */
const sendSentence = ({ secret, last4, messages, recipients, ...at }: Report['sends'][number]): string => {
  const name = `Secret number ${secret}, which ends in ${last4},`;
  if (at.first_at === null || at.last_at === null) return `${name} sent nothing.`;
  return (
    `${name} sent ${counted(messages, 'message')} to ${counted(recipients, 'recipient')}: the first at ` +
    `${atTime(at.first_at)}, the last at ${atTime(at.last_at)}.`
  );
};

const ABOUT = {
  api_key:
    'A program that sends mail identifies itself with the secret of an API key. A rotation gives the key a new secret. ' +
    'The service stores only a digest of each secret and its last four characters.',
  access_review:
    'Members use the dashboard, programs use API keys, and auditors read the audit log with a token of their own. Access is ' +
    'granted, changed and ended by events.',
  message: 'The service accepts a message from a program and delivers it to the mail servers of its recipients.',
} satisfies Record<Report['type'], string>;

/** Introduction for readers who do not know this service. */
const aboutReport = ({ type }: Report): string =>
  `${ABOUT[type]} Everything that happens is an event in a log, one leaf each. Leaves are numbered from 0 and never change.`;

/** How much of it is proved. */
export const proofSentence = ({ checkpoint, events }: Report): string => {
  if (checkpoint === null)
    return 'The log is not signed yet, so nothing in this report is proved. Request it again in a minute.';
  const proved = events.filter(({ proof }) => proof !== null).length;
  const all = proved === events.length ? 'all events' : `${proved} of the ${events.length} events`;
  return (
    `The first ${checkpoint.size} events of the log were signed at ${atTime(checkpoint.signed_at)}, and ${all} of this ` +
    'report are proved to be among them. The proofs are worth as much as the key that signed: compare the key below ' +
    'with the verifier key that you kept on your first day.'
  );
};

const COLUMNS = ['at', 'sentence', 'by', 'address', 'request_id', 'type', 'event_id', 'leaf_index'] as const;

type Row = Readonly<Record<(typeof COLUMNS)[number], string | number | null>>;

const NOT_AN_EVENT = { by: null, address: null, request_id: null, event_id: null, leaf_index: null };

type Cells = readonly (readonly (string | number | null)[])[];

const ACCESS_COLUMNS = [
  ...(['kind', 'id', 'name', 'role', 'permissions', 'scope', 'state', 'granted_at', 'granted_by'] as const),
  ...(['changed_at', 'changed_by', 'expires_at', 'ended_at', 'ended_by'] as const),
] as const;

const accessRows = (access: Report['access']): Cells => [
  ACCESS_COLUMNS,
  ...access.map((row) =>
    ACCESS_COLUMNS.map((column) => (column === 'permissions' ? row[column].join(' ') : row[column])),
  ),
];

/** Headings of an access review, each with its sentences. */
const accessParts = ({ access }: Report): readonly (readonly [heading: string, sentences: readonly string[]])[] => {
  const parts = [
    ['Who has access', 'active'],
    ['Whose access ended', 'ended'],
  ] as const;
  return parts
    .map(([heading, wanted]) => [heading, access.filter(({ state }) => state === wanted).map(accessSentence)] as const)
    .filter(([, sentences]) => sentences.length > 0);
};

/** A table, with its head: events, and behind them what was sent. */
export const reportRows = ({ type: kind, access, events, sends }: Report): Cells => {
  if (kind === 'access_review') return accessRows(access);
  const sent = sends.map((each): Row => {
    const sentence = sendSentence(each);
    return { ...NOT_AN_EVENT, at: each.last_at, sentence, type: 'sends' };
  });
  const rows: readonly Row[] = [...events, ...sent];
  return [COLUMNS, ...rows.map((row) => COLUMNS.map((column) => row[column]))];
};

/** A report as a page: no script, nothing is loaded, and it says so itself, so that a saved copy is as strict. */

const STYLE = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1.5rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #767676; }
th, td:first-child { overflow-wrap: normal; }
dt { font-weight: bold; }
dd { margin: 0 0 .5rem; }
pre { white-space: pre-wrap; }
`;

export const REPORT_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "form-action 'none'",
  "base-uri 'none'",
].join('; ');

const cells = (tag: 'td' | 'th', texts: readonly string[]): string =>
  `<tr>${texts.map((text) => `<${tag}>${escapeHtml(text)}</${tag}>`).join('')}</tr>`;

const rowOf = ({ at, sentence, by, address, event_id, leaf_index }: Report['events'][number]): string =>
  cells('td', [
    atTime(at),
    sentence,
    address === null ? by : `${by}, from ${address}`,
    `${leaf_index ?? 'not signed yet'} (event ${event_id})`,
  ]);

export const reportHtml = (report: Report): string => {
  const { title, facts, sends, left_out: leftOut, events, checkpoint, made_at: madeAt } = report;
  const named = facts.map(({ name, value }) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`).join('');
  const sent = sends.map((each) => `<li>${escapeHtml(sendSentence(each))}</li>`).join('');
  const sentWith =
    sends.length === 0 ? '' : `<h2>What was sent with it (counted by the service, not proved)</h2><ul>${sent}</ul>`;
  const accessed = accessParts(report)
    .map(
      ([heading, all]) => `<h2>${heading}</h2><ul>${all.map((text) => `<li>${escapeHtml(text)}</li>`).join('')}</ul>`,
    )
    .join('');
  const missing = leftOut === null ? '' : `<p>${escapeHtml(leftOut)}</p>`;
  const signed = checkpoint === null ? '' : `${checkpoint.verifier_key}\n\n${checkpoint.note}`;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${escapeHtml(REPORT_POLICY)}"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escapeHtml(title)}</h1><p>Made at ${escapeHtml(atTime(madeAt))}.</p><p>${escapeHtml(aboutReport(report))}</p><dl>${named}</dl>${accessed}
<h2>What happened</h2>${missing}<table><thead>${cells('th', ['When', 'What', 'Who', 'Leaf'])}</thead><tbody>${events.map(rowOf).join('')}</tbody></table>
${sentWith}
<h2>Proof</h2><p>${escapeHtml(proofSentence(report))} The proofs are in the JSON format of this report and attached to its PDF. The key that signed, and the checkpoint that it signed:</p><pre>${escapeHtml(signed)}</pre></main></body>
</html>
`;
};

/**
 * A report as PDF. Its proofs are attached as a file, byte by byte: the font has the letters of Western Europe only, and
 * others are shown as `?`. pdfkit is loaded with the first.
 */

const MARGIN = 50;
/** Position of the footer on A4, in points. */
const FOOT_Y = 842 - MARGIN + 15;
/** An event that begins lower goes on the next page: most take four lines. */
const EVENT_Y_MAX = 842 - MARGIN - 60;
/** Events and pages written at a time: 3 ms. More holds the event loop, fewer costs turns. */
const AT_ONCE = 10;
/** Longer texts are cut: the attachment has them whole. */
const TEXT_CHARACTERS_MAX = 2_000;

const LETTERS_MISSING =
  'A question mark in a name can stand for a letter that this font does not have. The attached file has all names in full.';

const shown = (text: string): string => printable(text, TEXT_CHARACTERS_MAX);

/** Texts for the reader to compare, by label. */
const signedTexts = ({ checkpoint }: Report): Readonly<Record<string, string>> =>
  checkpoint === null
    ? {}
    : {
        'The key that signed:': checkpoint.verifier_key,
        'The checkpoint that it signed (a C2SP signed note, which other programs can check):': checkpoint.note,
      };

/** Streams it. */
export const reportPdf = async (report: Report): Promise<Readable> => {
  const { default: PdfDocument } = await import('pdfkit');
  const { id, title, facts, sends, left_out: leftOut, events, made_at: madeAt } = report;
  const made = new Date(madeAt);
  const info = { Title: shown(title), CreationDate: made };
  const doc = new PdfDocument({ size: 'A4', margin: MARGIN, info, lang: 'en', displayTitle: true, bufferPages: true });

  const heading = (text: string): void => {
    doc.moveDown().font('Helvetica-Bold').fontSize(13).text(text).moveDown(0.3);
  };
  const lines = (...texts: readonly string[]): void => {
    doc.font('Helvetica').fontSize(9).text(texts.map(shown).join('\n'));
  };

  const tell = ({ at, sentence, by, address, event_id: eventId, leaf_index: leaf }: Report['events'][number]): void => {
    if (doc.y > EVENT_Y_MAX) doc.addPage();
    doc.moveDown(0.4).font('Helvetica-Bold').fontSize(9).text(atTime(at));
    lines(sentence);
    lines(`By ${by}${address === null ? '' : `, from ${address}`}.`);
    doc
      .font('Helvetica')
      .fontSize(7)
      .text(`Leaf ${leaf ?? '(not signed yet)'}, event ${eventId}`);
  };

  const tellAccess = async (): Promise<void> => {
    for (const [name, sentences] of accessParts(report)) {
      heading(name);
      for (let from = 0; from < sentences.length; from += AT_ONCE) {
        lines(...sentences.slice(from, from + AT_ONCE));
        await nextTurn();
      }
    }
  };

  /** Below the margin, where a text would begin another page. */
  const footPages = async (): Promise<void> => {
    const { count } = doc.bufferedPageRange();
    for (let page = 0; page < count; page += 1) {
      if (page % AT_ONCE === 0) await nextTurn();
      doc.font('Helvetica').fontSize(7);
      doc.switchToPage(page);
      doc.page.margins.bottom = 0;
      doc.text(`${id}, made at ${atTime(madeAt)}, page ${page + 1} of ${count}`, MARGIN, FOOT_Y, { lineBreak: false });
    }
  };

  doc.font('Helvetica-Bold').fontSize(16).text(shown(title));
  lines(`Made at ${atTime(madeAt)}.`);
  doc.moveDown(0.5);
  lines(aboutReport(report));
  doc.moveDown(0.5);
  lines(...facts.map(({ name, value }) => `${name}: ${value}`));
  await tellAccess();
  heading('What happened');
  if (leftOut !== null) lines(leftOut);
  for (const [index, event] of events.entries()) {
    if (index % AT_ONCE === 0) await nextTurn();
    tell(event);
  }
  await nextTurn();
  if (sends.length > 0) heading('What was sent with it (counted by the service, not proved)');
  lines(...sends.map(sendSentence));
  await nextTurn();
  heading('Proof');
  lines(proofSentence(report));
  lines(`The attached file ${id}.json holds each event as it is hashed, and its proof.`);
  if (lacksLetters([...facts.map(({ value }) => value), ...events.flatMap(({ sentence, by }) => [sentence, by])]))
    lines(LETTERS_MISSING);
  for (const [name, text] of Object.entries(signedTexts(report))) {
    doc.moveDown(0.5);
    lines(name);
    doc.font('Courier').fontSize(7).text(text.split('\n').map(shown).join('\n'));
  }
  await nextTurn();
  doc.file(Buffer.from(JSON.stringify(report, null, 2)), {
    name: `${id}.json`,
    type: 'application/json',
    description: 'The report with its proofs',
    creationDate: made,
    modifiedDate: made,
  });
  await footPages();
  doc.end();
  return doc;
};
