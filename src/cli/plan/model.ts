/** Defines the data of a plan, which every output format prints; it holds no secret. */
import { z } from 'zod';

const Field = z
  .strictObject({
    name: z.string().describe('The field, in the words of the service: threshold, config.url.'),
    before: z.json().optional().describe('What the service shows now. Absent where it shows nothing.'),
    after: z
      .json()
      .optional()
      .describe("The value that is sent; ? for one that only the service's answer will show. Absent for a secret."),
    secret: z.boolean().optional().describe('The value is a secret: only that it changes is shown.'),
  })
  .describe('One field of a call.');

const Row = z
  .strictObject({
    action: z
      .enum(['create', 'change', 'deploy', 'access', 'request', 'delete', 'unknown'])
      .describe(
        'create, change and delete concern an object in the service; deploy deploys, restarts, stops or starts an environment; access changes what a member may reach; request asks for a recovery operation; unknown means that the plan cannot tell.',
      ),
    kind: z.string(),
    namespace: z.string(),
    name: z.string(),
    call: z.string().optional().describe('The method and path, such as PATCH /alert. Absent where nothing is sent.'),
    fields: z.array(Field),
    note: z.string().optional(),
    file: z.string().optional(),
    line: z.int().optional(),
  })
  .describe('What the operator would do for one resource, or what cannot be told of it.');

const Finding = z
  .strictObject({
    code: z
      .enum(['Unreadable', 'Invalid', 'Duplicate', 'Stalled', 'ReadFailed', 'NotQuiet', 'NoResources', 'NoCredential'])
      .describe('Which kind of finding it is.'),
    incomplete: z.boolean().describe('True if the plan may be incomplete because of this finding.'),
    message: z.string(),
    kind: z.string().optional(),
    namespace: z.string().optional(),
    name: z.string().optional(),
    file: z.string().optional(),
    line: z.int().optional(),
  })
  .describe('Something that is wrong with the documents or with what was read.');

/** The schema of a plan, which `apphosting plan -o json` prints. */
export const Plan = z
  .strictObject({
    format: z.literal('apphosting-plan'),
    version: z.literal(1),
    name: z.string().describe('The name of the plan, by which an earlier comment is found and updated.'),
    accounts: z.array(
      z.strictObject({
        accountId: z.string(),
        endpoint: z.string(),
        asOf: z.string().describe('The time of the reads.'),
      }),
    ),
    complete: z
      .boolean()
      .describe('False where something could not be read: then there may be more to do than is listed.'),
    rows: z.array(Row).describe('What applying the documents would change.'),
    drift: z.array(Row).describe('What differs already before, and is not caused by the documents.'),
    findings: z.array(Finding),
    notes: z.array(z.string()),
    counts: z.record(z.string(), z.int()).describe('How many rows there are of each action.'),
    reads: z.strictObject({ asked: z.int(), answered: z.int() }),
    calls: z.strictObject({
      total: z.int().describe('How many calls change something.'),
      requestsPerSecond: z.number(),
      seconds: z.int().describe('How long they take at least at that pace.'),
    }),
  })
  .describe('What `apphosting plan -o json` prints.');

export type Plan = z.output<typeof Plan>;
export type PlanRow = Plan['rows'][number];
export type PlanField = PlanRow['fields'][number];
export type Finding = Plan['findings'][number];
export type PlanAction = PlanRow['action'];

/** Returns the JSON schema of a plan, which the documentation publishes. */
export function planSchema(): object {
  return { title: 'apphosting plan', ...z.toJSONSchema(Plan) };
}
