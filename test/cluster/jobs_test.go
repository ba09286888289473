//go:build cluster

package cluster_test

import (
	"testing"
	"time"

	"graylane/test/harness"
)

// The pods of both come through a sidecar, and must end with their app.
const jobs = `
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: shop}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {app: visitors}}
    spec:
      restartPolicy: Never
      containers:
        - name: app
          image: graylane/demo:dev
          args: [visit, --count=60, "http://front/"]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: often, namespace: shop}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        metadata: {labels: {app: visitors}}
        spec:
          restartPolicy: Never
          containers:
            - name: app
              image: graylane/demo:dev
              args: [visit, --count=60, "http://front/"]
`

func (s *story) runJobs(t *testing.T) {
	begin := time.Now()
	s.feed(t, write(t, s.withImages(parse(t, jobs), s.tag)), "apply", "-f", "-")
	s.waitForJob(t, "once")
	s.report.note("Job of 60 requests complete after", "%s", seconds([]time.Duration{time.Since(begin)}))
	s.waitForCronJob(t)
	s.run(t, "-n", nsShop, "delete", "job/once", "cronjob/often", "--timeout="+clusterPatience)
}

// waitForJob returns when the only pod of the job has ended, and shows what it said if that was not well.
func (s *story) waitForJob(t *testing.T, job string) {
	t.Helper()
	count := func(of string) string {
		return s.run(t, "-n", nsShop, "get", "job", job, "-o", "jsonpath={.status."+of+"}")
	}
	harness.WaitWithin(t, 5*time.Minute, "the job "+job+" ends", func() bool { return count("succeeded")+count("failed") != "" })
	if count("failed") != "" {
		t.Errorf("the job %s failed:\n%s", job, s.run(t, "-n", nsShop, "logs", "job/"+job, "--all-containers", "--prefix"))
	}
}

// waitForCronJob returns when the job that the schedule has made is complete.
func (s *story) waitForCronJob(t *testing.T) {
	t.Helper()
	s.run(t, "-n", nsShop, "wait", "--for=jsonpath={.status.lastSuccessfulTime}", "cronjob/often", "--timeout="+clusterPatience)
	s.report.note("CronJob", "its first job is complete")
}
