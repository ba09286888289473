package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubejson "k8s.io/apimachinery/pkg/util/json"

	"graylane/internal/inject"
)

// Where the API server posts its reviews. Of the two that judge templates, the first is for namespaces in which every
// pod gets the sidecar, the second for those in which pods ask for it.
const (
	pathMutate            = "/mutate"
	pathValidateNamespace = "/validate/namespace"
	pathValidatePods      = "/validate/pods"
)

// reviewer answers AdmissionReviews (admission.k8s.io/v1).
type reviewer struct {
	options inject.Options
	log     *slog.Logger
	room    *semaphore.Weighted // bytes of reviews
}

func newReviewer(options inject.Options, log *slog.Logger) *reviewer {
	return &reviewer{options, log, semaphore.NewWeighted(maxReview)}
}

func (r *reviewer) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("POST "+pathMutate, r.handle(r.mutate))
	mux.Handle("POST "+pathValidateNamespace, r.handle(r.validate(true)))
	mux.Handle("POST "+pathValidatePods, r.handle(r.validate(false)))
	// Who asks has made a TLS connection, so there is a certificate, and nothing else to wait for.
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	return mux
}

// maxReview is above what etcd stores of an object (1.5 MiB), twice: a review may have the old one too. It is also what
// all reviews under way may have together: one takes up to fifteen times its size while it is judged, anybody in the
// cluster may post some, and the injector must not run out of memory, or no pod starts.
const maxReview = 4 << 20

// bodyTime is what a review that has room has to come in whole: others wait for that room. The API server sends all at once.
const bodyTime = 2 * time.Second

// patience is how long a review waits for others to be answered; the API server gives up after five seconds.
const patience = 5 * time.Second

type judge func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse

func (r *reviewer) handle(judge judge) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		size := req.ContentLength
		if size > maxReview {
			http.Error(w, fmt.Sprintf("a review of %d bytes, want %d or less", size, maxReview), http.StatusRequestEntityTooLarge)
			return
		}
		if size < 0 {
			size = maxReview // who does not say how long it is waits for all others
		}
		ctx, cancel := context.WithTimeout(req.Context(), patience)
		defer cancel()
		if err := r.room.Acquire(ctx, size); err != nil {
			http.Error(w, "too many reviews at once", http.StatusServiceUnavailable)
			return
		}
		defer r.room.Release(size)
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // fails if it is closed, as reading then does
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReview))
		if err != nil {
			http.Error(w, fmt.Sprintf("read the review: %v", err), http.StatusRequestEntityTooLarge)
			return
		}
		var review admissionv1.AdmissionReview
		if err := kubejson.Unmarshal(body, &review); err != nil {
			http.Error(w, fmt.Sprintf("not an AdmissionReview: %v", err), http.StatusBadRequest)
			return
		}
		if review.Request == nil || review.APIVersion != admissionv1.SchemeGroupVersion.String() {
			http.Error(w, fmt.Sprintf("got %q, want an AdmissionReview of admission.k8s.io/v1 with a request", review.APIVersion), http.StatusBadRequest)
			return
		}
		answer := judge(review.Request)
		answer.UID = review.Request.UID
		w.Header().Set("Content-Type", "application/json")
		err = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: answer})
		if err != nil {
			r.log.Warn("cannot answer a review", "error", err)
		}
	}
}

// mutate adds the sidecar to a pod.
func (r *reviewer) mutate(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	log := r.about(req)
	if req.Kind.Kind != "Pod" || req.SubResource != "" || req.Operation != admissionv1.Create {
		return allow() // somebody has widened the webhook's rules; only pods at their creation can be changed
	}
	pod := new(corev1.Pod)
	if err := kubejson.Unmarshal(req.Object.Raw, pod); err != nil {
		return deny(log, fmt.Errorf("not a pod: %w", err))
	}
	if pod.Name == "" {
		log = log.With("generateName", cut(pod.GenerateName))
	}
	result, err := inject.Pod(pod, r.options)
	if err != nil {
		return deny(log, err)
	}
	if result.Skipped != "" {
		log.Info("pod gets no sidecar", "reason", result.Skipped)
	}
	answer := allow()
	if len(result.Patch) == 0 {
		return answer
	}
	if answer.Patch, err = result.Patch.JSON(); err != nil {
		return deny(log, err)
	}
	answer.PatchType = new(admissionv1.PatchTypeJSONPatch)
	if result.Skipped == "" {
		log.Info("sidecar added")
	}
	return answer
}

// validate refuses a workload whose pods would be refused, so that who applies it sees why: pods are made by
// controllers, which tell nobody.
func (r *reviewer) validate(byDefault bool) judge {
	return func(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
			return allow()
		}
		log := r.about(req)
		template, err := inject.TemplateOf(req.Kind.Kind, req.Object.Raw)
		if err != nil {
			return deny(log, err)
		}
		if template == nil || unchanged(req, template) {
			return allow()
		}
		if err := inject.Template(template, byDefault, r.options); err != nil {
			return deny(log, fmt.Errorf("in the template of the pods: %w", err))
		}
		answer := allow()
		var owner metav1.PartialObjectMetadata
		if err := kubejson.Unmarshal(req.Object.Raw, &owner); err == nil { // else Kubernetes says so
			for _, what := range inject.Misplaced(owner.ObjectMeta, template.ObjectMeta) {
				answer.Warnings = append(answer.Warnings, "graylane: "+what)
			}
		}
		return answer
	}
}

// unchanged says that an update leaves the template as it was. What was taken once, before the injector was there or
// while it was down, must still be scaled and, by way of its finalizers, deleted.
func unchanged(req *admissionv1.AdmissionRequest, template *corev1.PodTemplateSpec) bool {
	if req.Operation != admissionv1.Update {
		return false
	}
	old, err := inject.TemplateOf(req.Kind.Kind, req.OldObject.Raw)
	return err == nil && reflect.DeepEqual(old, template)
}

func (r *reviewer) about(req *admissionv1.AdmissionRequest) *slog.Logger {
	return r.log.With("kind", req.Kind.Kind, "namespace", req.Namespace, "name", cut(req.Name))
}

// maxText is how much of an answer or of a name is told: nobody has judged their lengths yet.
const maxText = 4 << 10

func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + " and more"
}

func allow() *admissionv1.AdmissionResponse { return &admissionv1.AdmissionResponse{Allowed: true} }

func deny(log *slog.Logger, err error) *admissionv1.AdmissionResponse {
	message := cut(strings.ReplaceAll(err.Error(), "\n", "; "))
	log.Warn("refused", "error", message)
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusForbidden,
		Reason:  metav1.StatusReasonForbidden,
		Message: "graylane: " + message,
	}}
}
