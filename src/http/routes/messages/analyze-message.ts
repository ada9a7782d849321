import { requireFromDomain } from '../../../commands/message/prepare-message.ts';
import { RULES_VERSION } from '../../../domain/analysis/rule-table.ts';
import { endpoint } from '../../endpoint.ts';
import { analysisSchema, serializeAnalysis } from '../../schemas/sent-message.ts';
import { UNCHECKED } from './html-rules.ts';
import { draftOf } from './send-body.ts';
import { completeSend, sendRequestBody, sendRequestProblems } from './send-by-template.ts';
import { domainFactsFor, SEND_BOUNDS, SEND_EXAMPLES, senderOf } from './send-message.ts';

const DESCRIPTION = `Accepts the body of a send, and neither sends nor stores it. The result depends only on the message, not on lookups.
A finding is an \`error\` if the message should not be sent as it is, a \`warning\` if it reduces the quality or delivery of
the message, and an \`info\` otherwise. The verdict is \`fail\` with any error and \`warn\` with any warning.
The score starts at 100. Each rule subtracts its points for every finding, up to its own maximum. Rules: version
${RULES_VERSION}.`;

export const analyzeMessageRoute = endpoint(
  'POST /v1/messages/analyze',
  {
    summary: 'Analyse a message without sending it',
    description: DESCRIPTION,
    body: sendRequestBody,
    examples: SEND_EXAMPLES,
    answer: analysisSchema,
    bounds: SEND_BOUNDS,
    problems: sendRequestProblems(UNCHECKED),
  },
  async ({ caller, body }, route) => {
    const { analyzer } = route.deps;
    const complete = await completeSend(route.templates.of(caller.organizationId), caller, body);
    if (complete.refusal !== null) throw complete.refusal;
    const draft = draftOf(complete.body);
    const sender = await senderOf(route.auth.keyCache, caller, draft.from.address);
    requireFromDomain(sender, draft.from.address);
    const domain = await domainFactsFor(route.auth.keyCache, sender);
    return serializeAnalysis(await analyzer.analyze({ draft, domain }, caller.organizationId));
  },
);
