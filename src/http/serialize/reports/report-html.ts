import { hash } from 'node:crypto';
import { escapeHtml } from '../../../lib/html/html.ts';
import { atTime } from '../explain/explanation.ts';
import { aboutReport, proofSentence, type Report, sendSentence } from './report.ts';

/** A report as a page: no script, nothing is loaded, and it says so itself, so that a saved copy is as strict. */

const STYLE = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1.5rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #767676; }
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
    `${leaf_index ?? 'not there yet'} (event ${event_id})`,
  ]);

export const reportHtml = (report: Report): string => {
  const { title, facts, sends, left_out: leftOut, events, checkpoint, made_at: madeAt } = report;
  const named = facts.map(({ name, value }) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`).join('');
  const sent = sends.map((each) => `<li>${escapeHtml(sendSentence(each))}</li>`).join('');
  const sentWith = sends.length === 0 ? '' : `<h2>What was sent with it</h2><ul>${sent}</ul>`;
  const missing = leftOut === null ? '' : `<p>${escapeHtml(leftOut)}</p>`;
  const signed = checkpoint === null ? '' : `${checkpoint.verifier_key}\n\n${checkpoint.note}`;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${escapeHtml(REPORT_POLICY)}"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escapeHtml(title)}</h1><p>Made at ${escapeHtml(atTime(madeAt))}.</p><p>${escapeHtml(aboutReport(report))}</p><dl>${named}</dl>
<h2>What happened</h2>${missing}<table><thead>${cells('th', ['When', 'What', 'Who', 'Number in the log'])}</thead><tbody>${events.map(rowOf).join('')}</tbody></table>
${sentWith}
<h2>Proof</h2><p>${escapeHtml(proofSentence(report))} The proofs themselves are in the report as JSON and attached to the one as PDF. The key that signed, and what it signed:</p><pre>${escapeHtml(signed)}</pre></main></body>
</html>
`;
};
