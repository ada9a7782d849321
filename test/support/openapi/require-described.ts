import { type AnswerCheck, answerCheck, type RealAnswer } from './answer-check.ts';
import { readOpenApi } from './document.ts';

const checks = new Map<string, Promise<AnswerCheck>>();

/** The check for the service at an address. The document is fetched once per address. */
const checkOf = (baseUrl: string): Promise<AnswerCheck> => {
  const known = checks.get(baseUrl);
  if (known !== undefined) return known;
  const asked = fetch(`${baseUrl}/openapi.json`).then(async (answer) => answerCheck(readOpenApi(await answer.json())));
  checks.set(baseUrl, asked);
  asked.catch(() => checks.delete(baseUrl));
  return asked;
};

/** @throws if a response does not conform to the service's own document. */
export const requireDescribed = async (baseUrl: string, answer: RealAnswer): Promise<void> => {
  const check = await checkOf(baseUrl);
  const problems = check(answer);
  if (problems.length === 0) return;
  const asked = `${answer.method} ${answer.path} was answered ${answer.status}`;
  throw new Error(`${asked}, not as it is documented: ${problems.join('; ')}\n${answer.text.slice(0, 2_000)}`);
};
