import type { Readable } from 'node:stream';
import { atTime } from '../explain/explanation.ts';
import { printable } from '../invoice-pdf.ts';
import { proofSentence, type Report, sendSentence } from './report.ts';

/**
 * A report as PDF. Its proofs are attached as a file, byte by byte: the font has the letters of Western Europe only, and
 * others are shown as `?`. pdfkit is loaded with the first.
 */

const MARGIN = 50;
/** Longer texts are cut: the attachment has them whole. */
const TEXT_CHARACTERS_MAX = 2_000;

const shown = (text: string): string => printable(text, TEXT_CHARACTERS_MAX);

/** Streams it. */
export const reportPdf = async (report: Report): Promise<Readable> => {
  const { default: PdfDocument } = await import('pdfkit');
  const { id, title, facts, sends, left_out: leftOut, events, checkpoint, made_at: madeAt } = report;
  const made = new Date(madeAt);
  const info = { Title: shown(title), CreationDate: made };
  const doc = new PdfDocument({ size: 'A4', margin: MARGIN, info, lang: 'en', displayTitle: true });

  const heading = (text: string): void => {
    doc.moveDown().font('Helvetica-Bold').fontSize(13).text(text).moveDown(0.3);
  };
  const lines = (...texts: readonly string[]): void => {
    doc.font('Helvetica').fontSize(9).text(texts.map(shown).join('\n'));
  };

  doc.font('Helvetica-Bold').fontSize(18).text(shown(title));
  lines(`Made at ${atTime(madeAt)}.`);
  doc.moveDown(0.5);
  lines(...facts.map(({ name, value }) => `${name}: ${value}`));
  heading('What happened');
  if (leftOut !== null) lines(leftOut);
  for (const { at, sentence, by, address, event_id: eventId, leaf_index: leaf } of events) {
    doc.moveDown(0.4).font('Helvetica-Bold').fontSize(9).text(atTime(at));
    lines(sentence);
    lines(`By ${by}${address === null ? '' : `, from ${address}`}.`);
    doc
      .font('Helvetica')
      .fontSize(7)
      .text(`Number ${leaf ?? '(not there yet)'} of the log, event ${eventId}`);
  }
  if (sends.length > 0) heading('What was sent with it');
  lines(...sends.map(sendSentence));
  heading('Proof');
  lines(proofSentence(report));
  lines(`The attached file ${id}.json holds each event as it is hashed, the hashes, and the signed note:`);
  doc.moveDown(0.3).font('Courier').fontSize(7);
  doc.text((checkpoint?.note ?? '').split('\n').map(shown).join('\n'));
  doc.file(Buffer.from(JSON.stringify(report, null, 2)), {
    name: `${id}.json`,
    type: 'application/json',
    description: 'The report with its proofs',
    creationDate: made,
    modifiedDate: made,
  });
  doc.end();
  return doc;
};
