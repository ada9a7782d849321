import { serveTasks } from '../async/serve-tasks.ts';
import { htmlToText } from './html-to-text.ts';
import { checkWithShape, type HtmlToCheck } from './read-html.ts';

export type HtmlTask =
  | ({ readonly job: 'check' } & HtmlToCheck)
  | { readonly job: 'derive-text'; readonly html: string };

/** Entry of a thread that reads html. */
serveTasks((task: HtmlTask) => (task.job === 'check' ? checkWithShape(task) : htmlToText(task.html)));
