import type { Analysis } from '../../domain/analysis/analysis.ts';
import {
  AnalysisUnavailable,
  type AnalyzedMessage,
  type Analyzer,
  type AttachmentFact,
  type MessageFacts,
} from '../../domain/analysis/facts.ts';
import { judge } from '../../domain/analysis/judge.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { createWorkerThreads, TaskTooLong, ThreadUnavailable } from '../../lib/async/async.ts';
import { htmlFacts, textLinks } from '../../lib/html/html.ts';
import type { StoredAlternative, StoredAttachment } from '../../lib/mime/mime.ts';

/** Adapter of the port `Analyzer`: reads the html and applies the domain's rules, large messages in a thread. */

/** A message without its large parts, cheap to pass to a thread. The html is still text. */
export type AnalysisInput = Omit<MessageFacts, 'html' | 'textLinks'> & { readonly html?: string };

/** Base64 of the first dozen bytes, enough to recognize every kind of executable. */
const HEAD_CHARACTERS = 16;
/** Base64 in lines of 76 characters (RFC 2045 §6.8). */
const SENT_PER_CHARACTER = 78 / 76;

const factIn =
  (list: 'attachments' | 'alternatives') =>
  (attached: StoredAttachment | StoredAlternative, index: number): AttachmentFact => {
    const { filename = '', contentType, content, contentId, disposition } = attached;
    return {
      field: `${list}[${index}]`,
      filename,
      contentType,
      head: Buffer.from(content.slice(0, HEAD_CHARACTERS), 'base64').toString('hex'),
      ...(contentId === undefined ? {} : { contentId }),
      ...(disposition === undefined ? {} : { disposition }),
    };
  };

const sizeOf = ({ html = '', text = '', attachments, alternatives = [] }: AnalyzedMessage['draft']): number => {
  const attached = [...attachments, ...alternatives].reduce((sum, { content }) => sum + content.length, 0);
  return Buffer.byteLength(html) + Buffer.byteLength(text) + Math.ceil(attached * SENT_PER_CHARACTER);
};

export const inputOf = ({ draft, domain }: AnalyzedMessage): AnalysisInput => {
  const { html, text, unsubscribe, alternatives = [] } = draft;
  // Alternatives are checked like attachments: an executable is one in either place.
  const attached = [...draft.attachments.map(factIn('attachments')), ...alternatives.map(factIn('alternatives'))];
  return {
    from: draft.from,
    replyTo: draft.replyTo,
    recipients: draft.recipients,
    subject: draft.subject,
    headers: draft.headers,
    stream: draft.stream,
    domain,
    ...(html === undefined ? {} : { html }),
    ...(text === undefined ? {} : { text }),
    ...(unsubscribe === undefined ? {} : { unsubscribe }),
    attachments: attached,
    sizeBytes: sizeOf(draft),
  };
};

/** Takes time linear in the size of the bodies. */
export const analyzeMessage = ({ html, ...input }: AnalysisInput): Analysis =>
  judge({
    ...input,
    html: html === undefined ? null : htmlFacts(html),
    textLinks: textLinks(input.text ?? ''),
  });

/** Smaller messages are analysed inline (some 2 ms). Passing one to a thread costs about 50 µs. */
const INLINE_CHARACTERS_MAX = 8_000;
/**
 * An ordinary message takes at most 50 ms. Larger ones have a thread of their own, so that ordinary mail never waits
 * for them.
 */
const ORDINARY_CHARACTERS_MAX = 120_000;
/** The worst megabyte takes 0.6 s. Lower: good mail is rejected. Higher: other organizations wait for the thread. */
const RUN_MS_MAX = 1_000;
/** Clients get a 503 after 15 s. Higher: work whose client has given up. */
const WAIT_MS_MAX = 12_000;
/** Bodies in memory while they wait for either thread, each of at most two megabytes. */
const WAITING_MAX = 64;

const failed = (error: unknown): never => {
  if (error instanceof TaskTooLong) {
    const problem = `html takes longer than ${RUN_MS_MAX} ms to analyse: use fewer elements and attributes`;
    throw new DomainError('invalid_request', problem, { details: { html: [problem] } });
  }
  if (error instanceof ThreadUnavailable) throw new AnalysisUnavailable(`not analysed: ${error.message}`);
  throw error;
};

export interface AnalyzerOptions {
  readonly waitMsMax?: number;
}

const charactersOf = ({ html = '', text = '' }: AnalysisInput): number => html.length + text.length;

/** Analyses small messages inline and others in a thread, so that none blocks the event loop. */
export const createAnalyzer = (options: AnalyzerOptions = {}): Analyzer => {
  const openThread = () =>
    createWorkerThreads<{ readonly job: 'analyze'; readonly input: AnalysisInput }, Analysis>({
      entry: new URL('./html-thread.ts', import.meta.url),
      threads: 1,
      runMsMax: RUN_MS_MAX,
      waitMsMax: options.waitMsMax ?? WAIT_MS_MAX,
      tasksMax: WAITING_MAX,
    });
  const ordinary = openThread();
  const large = openThread();
  return {
    analyze: async (subject, organizationId) => {
      const input = inputOf(subject);
      const characters = charactersOf(input);
      if (characters <= INLINE_CHARACTERS_MAX) return analyzeMessage(input);
      const thread = characters <= ORDINARY_CHARACTERS_MAX ? ordinary : large;
      return await thread.run({ job: 'analyze', input }, organizationId).catch(failed);
    },
    close: async () => {
      await Promise.all([ordinary.close(), large.close()]);
    },
  };
};
