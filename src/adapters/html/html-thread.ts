import { serveTasks } from '../../lib/async/serve-tasks.ts';
import { type AnalysisInput, analyzeMessage } from './analyzer.ts';
import { trackingPlaces } from './tracked-links.ts';

export type HtmlTask =
  | { readonly job: 'analyze'; readonly input: AnalysisInput }
  | { readonly job: 'find-links'; readonly html: string };

/** Entry of a thread that analyses messages and finds the links to track. */
serveTasks((task: HtmlTask) => (task.job === 'analyze' ? analyzeMessage(task.input) : trackingPlaces(task.html)));
