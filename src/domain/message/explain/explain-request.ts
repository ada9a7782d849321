import type { ToldAnalysis } from '../../contents.ts';
import type { VerificationMethod } from '../../sending-domain/events.ts';
import { actorOf, byWhom } from './actor.ts';
import { atTime } from './at-time.ts';
import type { ExplainedStep, StepFacts, StepType } from './explanation.ts';
import type { View } from './view.ts';

/** What was known when the message was accepted; null is what cannot be told any more. */
export interface Circumstances {
  readonly keyName: string | null;
  readonly verification: { readonly method: VerificationMethod; readonly verifiedAt: string } | null;
  /** It had HTML, which is never accepted unchecked. */
  readonly hadHtml: boolean;
  readonly analysis: ToldAnalysis | null;
}

const PROVED: Readonly<Record<VerificationMethod, string>> = {
  dns: 'by its DNS',
  capture: 'without proof, because mail stayed on this machine',
};

const domainSentence = ({ message: { accepted, environment } }: View, { verification }: Circumstances): string => {
  const { fromDomain } = accepted;
  if (verification !== null) {
    const how = `${PROVED[verification.method]} (${atTime(verification.verifiedAt)})`;
    return `The domain ${fromDomain} may be sent from: it had been verified ${how}.`;
  }
  if (environment === 'test') return `The domain ${fromDomain} was not verified: a test key needs no proof.`;
  return `The domain ${fromDomain} was allowed to be sent from; its verification is not on record.`;
};

const keySentence = ({ message: { accepted, environment } }: View, { keyName }: Circumstances): string => {
  const name = keyName === null ? accepted.keyId : `"${keyName}" (${accepted.keyId})`;
  const simulated = environment === 'test' ? ': nothing leaves, what becomes of it is simulated' : '';
  return `API key ${name} is valid, may send, and belongs to the ${environment} environment${simulated}.`;
};

const SAFE_TO_REPEAT = 'with an Idempotency-Key, so that repeating the request sends nothing twice';
const UNSAFE_TO_REPEAT = 'without an Idempotency-Key, so that repeating the request sends another message';

/** What came before the acceptance: the request, the key, and the checks. */
export const explainRequest = (view: View, circumstances: Circumstances): readonly ExplainedStep[] => {
  const [first] = view.happenings;
  if (first === undefined) return [];
  const { accepted } = view.message;
  const { occurredAt: at, actor, requestId } = first.metadata;
  const step = (type: StepType, sentence: string, facts: StepFacts = {}): ExplainedStep => ({
    ...{ at, actor: actorOf(actor), type, sentence, facts },
  });
  const { analysis, hadHtml, keyName } = circumstances;
  const repeat = accepted.idempotent ? SAFE_TO_REPEAT : UNSAFE_TO_REPEAT;
  const named = requestId === null ? 'The request' : `Request ${requestId}`;
  return [
    step('requested', `${named} came from ${byWhom(actor)}, ${repeat}.`, {
      ...(requestId === null ? {} : { request_id: requestId }),
      idempotency_key_used: accepted.idempotent,
    }),
    step('key_checked', keySentence(view, circumstances), {
      ...{ api_key_id: accepted.keyId, ...(keyName === null ? {} : { api_key_name: keyName }) },
    }),
    step('domain_checked', domainSentence(view, circumstances), { domain_id: accepted.domainId }),
    ...(hadHtml ? [step('html_checked', 'Its HTML was read and has no errors that mail programs stumble over.')] : []),
    ...(analysis === null ? [] : [step('analyzed', analysisSentence(analysis), analysisFacts(analysis))]),
  ];
};

const analysisSentence = ({ score, verdict, findings }: ToldAnalysis): string =>
  `Its contents were analyzed: ${score} of 100 points, ${findings.length} finding${findings.length === 1 ? '' : 's'}, verdict "${verdict}".`;

const analysisFacts = ({ score, verdict }: ToldAnalysis): StepFacts => ({ score, verdict });
