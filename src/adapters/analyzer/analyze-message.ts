import type { Analysis } from '../../domain/analysis/analysis.ts';
import type { AttachmentFact, HtmlFacts, MessageFacts } from '../../domain/analysis/facts.ts';
import { judge } from '../../domain/analysis/judge.ts';
import { textLinks } from '../../domain/analysis/text.ts';
import type { AnalyzedMessage } from '../../domain/ports/analyzer.ts';
import type { StoredAlternative, StoredAttachment } from '../../domain/ports/contents.ts';
import { checkHtml } from '../html-checker/check-html.ts';
import { readHtml } from './read-html.ts';

/** What a message is analysed by: its html is still text. It can be handed to a thread, without what is large. */
export type AnalysisInput = Omit<MessageFacts, 'html' | 'textLinks'> & { readonly html?: string };

/** Base64 of the first dozen bytes: every program is known by fewer. */
const HEAD_CHARACTERS = 16;
/** Base64 in lines of 76 characters (RFC 2045 §6.8). */
const SENT_PER_CHARACTER = 78 / 76;

const attachmentFact = ({ filename, contentType, content, contentId }: StoredAttachment): AttachmentFact => ({
  filename,
  contentType,
  head: Buffer.from(content.slice(0, HEAD_CHARACTERS), 'base64').toString('hex'),
  ...(contentId === undefined ? {} : { contentId }),
});

const sizeOf = ({ html = '', text = '', attachments, alternatives = [] }: AnalyzedMessage['draft']): number => {
  const attached = [...attachments, ...alternatives].reduce((sum, { content }) => sum + content.length, 0);
  return Buffer.byteLength(html) + Buffer.byteLength(text) + Math.ceil(attached * SENT_PER_CHARACTER);
};

/** A program is one in whichever place it stands. */
const asAttachment = ({ filename = '', contentType, content }: StoredAlternative): StoredAttachment => ({
  ...{ filename, contentType, content },
});

export const inputOf = ({ draft, domain }: AnalyzedMessage): AnalysisInput => {
  const { from, replyTo, recipients, subject, html, text, headers, stream, unsubscribe, alternatives = [] } = draft;
  return {
    ...{ from, replyTo, recipients, subject, headers, stream, domain },
    ...(html === undefined ? {} : { html }),
    ...(text === undefined ? {} : { text }),
    ...(unsubscribe === undefined ? {} : { unsubscribe }),
    attachments: [...draft.attachments, ...alternatives.map(asAttachment)].map(attachmentFact),
    sizeBytes: sizeOf(draft),
  };
};

const htmlFacts = (source: string): HtmlFacts => ({ ...readHtml(source), problems: checkHtml(source) });

/** In time linear in the size of the bodies. */
export const analyzeMessage = ({ html, ...input }: AnalysisInput): Analysis =>
  judge({
    ...input,
    html: html === undefined ? null : htmlFacts(html),
    textLinks: textLinks(input.text ?? ''),
  });
