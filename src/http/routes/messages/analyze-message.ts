import { requireFromDomain } from '../../../commands/message/prepare-message.ts';
import { RULES_VERSION } from '../../../domain/analysis/rule-table.ts';
import { endpoint } from '../../endpoint.ts';
import { analysisSchema, serializeAnalysis } from '../../schemas/sent-message.ts';
import { UNCHECKED } from './html-rules.ts';
import { draftOf } from './send-body.ts';
import { completeSend, sendRequestBody, sendRequestProblems } from './send-by-template.ts';
import { domainFactsFor, SEND_BOUNDS, SEND_EXAMPLES, senderOf } from './send-message.ts';

const DESCRIPTION = `Takes the body of a send, sends nothing and stores nothing. The same message gets the same answer:
nothing is looked up. A finding is an \`error\` where the message should not leave as it is, a \`warning\` where it will
suffer, an \`info\` where it is worth knowing; the verdict is \`fail\` with any error, \`warn\` with any warning.
The score begins at 100; each rule takes its points for every finding, up to its own maximum. Rules: version
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
