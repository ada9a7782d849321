import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { atTime } from '../explain/explanation.ts';
import { printable } from '../invoice-pdf.ts';
import { aboutReport, proofSentence, type Report, sendSentence } from './report.ts';

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

const shown = (text: string): string => printable(text, TEXT_CHARACTERS_MAX);

/** Texts for the reader to compare, by label. */
const signedTexts = ({ checkpoint }: Report): Readonly<Record<string, string>> =>
  checkpoint === null
    ? {}
    : {
        'The key that signed:': checkpoint.verifier_key,
        'What it signed, in the form that others check it in (C2SP signed-note):': checkpoint.note,
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
      .text(`Number ${leaf ?? '(not there yet)'} of the log, event ${eventId}`);
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
  heading('What happened');
  if (leftOut !== null) lines(leftOut);
  for (const [index, event] of events.entries()) {
    if (index % AT_ONCE === 0) await nextTurn();
    tell(event);
  }
  await nextTurn();
  if (sends.length > 0) heading('What was sent with it');
  lines(...sends.map(sendSentence));
  await nextTurn();
  heading('Proof');
  lines(proofSentence(report));
  lines(`The attached file ${id}.json holds each event as it is hashed, and its proof.`);
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
