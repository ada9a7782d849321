import type { Finding } from '../../../domain/analysis/analysis.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import type { ExistingMessage } from '../../../domain/message/message.ts';
import type { ToldAnalysis } from '../../../domain/ports/contents.ts';
import type { VerificationMethod } from '../../../domain/sending-domain/events.ts';
import { actorOf, byWhom, memberInWords } from './explain-actor.ts';
import { atTime, type ExplainedStep, type StepFacts, type StepType, type View } from './explanation.ts';

/** Describes the steps before acceptance: the request, its sender and the checks. */

/** Facts from the time of acceptance; null: no longer known. */
export interface Circumstances {
  readonly keyName: string | null;
  readonly verification: { readonly method: VerificationMethod; readonly verifiedAt: string } | null;
  /** Alias of the template that it was rendered from; null: no template or no alias. */
  readonly templateAlias: string | null;
  /** True if it had HTML, which is always checked. */
  readonly hadHtml: boolean;
  readonly analysis: ToldAnalysis | null;
  /** About the html, of the analysis or of the check. */
  readonly findings: readonly Finding[];
}

const PROVED: Readonly<Record<VerificationMethod, string>> = {
  dns: 'by its DNS records',
  capture: 'without a check, because mail is captured',
};

const domainSentence = ({ message: { accepted, environment } }: View, { verification }: Circumstances): string => {
  const { fromDomain } = accepted;
  if (verification !== null) {
    const how = `${PROVED[verification.method]} (${atTime(verification.verifiedAt)})`;
    return `The domain ${fromDomain} may send: it was verified ${how}.`;
  }
  if (environment === 'test') return `The domain ${fromDomain} was not verified: a test key does not require it.`;
  return `The domain ${fromDomain} was allowed to send; its verification is not on record.`;
};

/** Members have no key: `keyId` is then the id of the member. */
const isMember = ({ accepted }: ExistingMessage): boolean => isId('mbr', accepted.keyId);

const keySentence = ({ message, people }: View, { keyName }: Circumstances): string => {
  const { accepted, environment } = message;
  const name = keyName === null ? accepted.keyId : `"${keyName}" (${accepted.keyId})`;
  const simulated = environment === 'test' ? ': nothing is sent, the outcome is simulated' : '';
  if (isMember(message))
    return `${memberInWords(accepted.keyId, people)} may send, and asked for the ${environment} environment${simulated}.`;
  return `API key ${name} is valid, may send, and belongs to the ${environment} environment${simulated}.`;
};

const senderFacts = ({ message, people }: View, keyName: string | null): StepFacts => {
  const { keyId } = message.accepted;
  const memberName = people.get(keyId);
  if (isMember(message)) return { member_id: keyId, ...(memberName === undefined ? {} : { member_name: memberName }) };
  return { api_key_id: keyId, ...(keyName === null ? {} : { api_key_name: keyName }) };
};

const templateSteps = (
  { message: { accepted } }: View,
  { templateAlias }: Circumstances,
): readonly { readonly sentence: string; readonly facts: StepFacts }[] => {
  const { template } = accepted;
  if (template === undefined) return [];
  const { templateId, version } = template;
  const name = templateAlias === null ? templateId : `"${templateAlias}" (${templateId})`;
  return [
    {
      sentence: `It was rendered from version ${version} of template ${name}.`,
      facts: { template_id: templateId, template_version: version },
    },
  ];
};

const SAFE_TO_REPEAT = 'with an Idempotency-Key: repeating the request sends nothing twice';
const UNSAFE_TO_REPEAT = 'without an Idempotency-Key: repeating the request sends another message';

/** The steps before acceptance: the request, the key and the checks. */
export const explainRequest = (view: View, circumstances: Circumstances): readonly ExplainedStep[] => {
  const [first] = view.happenings;
  if (first === undefined) return [];
  const { accepted } = view.message;
  const { occurredAt: at, actor, requestId } = first.metadata;
  const step = (type: StepType, sentence: string, facts: StepFacts = {}): ExplainedStep => ({
    at,
    actor: actorOf(actor),
    type,
    sentence,
    facts,
  });
  const { analysis, findings, hadHtml, keyName } = circumstances;
  const repeat = accepted.idempotent ? SAFE_TO_REPEAT : UNSAFE_TO_REPEAT;
  const named = requestId === null ? 'The request' : `Request ${requestId}`;
  return [
    step('requested', `${named} came from ${byWhom(actor, view.people)}, ${repeat}.`, {
      ...(requestId === null ? {} : { request_id: requestId }),
      idempotency_key_used: accepted.idempotent,
    }),
    step('key_checked', keySentence(view, circumstances), senderFacts(view, keyName)),
    step('domain_checked', domainSentence(view, circumstances), { domain_id: accepted.domainId }),
    ...templateSteps(view, circumstances).map((one) => step('rendered', one.sentence, one.facts)),
    ...(hadHtml ? [step('html_checked', htmlSentence(findings))] : []),
    ...(analysis === null ? [] : [step('analyzed', analysisSentence(analysis), analysisFacts(analysis))]),
  ];
};

/** Quotes nothing of the html: members who see no contents read it. */
const htmlSentence = (findings: readonly Finding[]): string => {
  const first = findings.find(({ rule }) => rule === 'html-invalid');
  if (first === undefined) return 'Its HTML was checked and is valid.';
  return `Its HTML is not valid and was accepted unchanged: see line ${first.line}, column ${first.column}.`;
};

const analysisSentence = ({ score, verdict, findings }: ToldAnalysis): string =>
  `Its contents were analyzed: ${score} of 100 points, ${findings.length} finding${findings.length === 1 ? '' : 's'}, verdict "${verdict}".`;

const analysisFacts = ({ score, verdict }: ToldAnalysis): StepFacts => ({ score, verdict });
