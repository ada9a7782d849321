import { expect, test } from 'vitest';
import { operator } from '../support/operator.ts';

test.each([
  [['keys', 'list', '--organisation', 'x'], /^unknown option --organisation\. Usage: keys list /m],
  [['keys', 'list', '-x'], /^unknown option -x\. Usage: /m],
  [['keys', 'list', 'mine'], /^unexpected argument 'mine'\. Usage: keys list /m],
  [['keys', 'list', '--organization'], /^--organization needs a value\. Usage: keys list /m],
  [['keys', 'list', '--organization', '--json'], /^--organization needs a value\. Usage: keys list /m],
  [['keys', 'list', '--json=yes'], /^--json takes no value\. Usage: keys list /m],
  [['keys', 'lose'], /^unknown command 'keys lose/m],
])('%j is explained in the words of the service', async (words, sentence) => {
  await expect(operator({ dataDir: '/nowhere' }, ...words)).rejects.toThrow(sentence);
});
